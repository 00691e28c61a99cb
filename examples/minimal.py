"""The method in plain PyTorch, without this library: hyperspherical prototype networks (Mettes, van
der Pol, Snoek. NeurIPS 2019) on scikit-learn's digits, and what the learning rate has to do with it.
"""

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

RATES = (0.001, 0.01, 0.1, 1.0)


def place(num_classes: int, dim: int, steps: int = 1_000, seed: int = 0) -> Tensor:
    """Equation 5: move every prototype away from the one that is nearest to it."""
    generator = torch.Generator().manual_seed(seed)
    points = normalize(torch.randn(num_classes, dim, generator=generator, dtype=torch.float64))
    for _ in range(steps):
        points.requires_grad_(True)
        (gradient,) = torch.autograd.grad(nearest_cosines(points).mean(), points)
        points = normalize(points.detach() - 0.1 * gradient)
    return points


def nearest_cosines(points: Tensor) -> Tensor:
    """Return the cosine between each point and its nearest neighbor; points have length 1."""
    itself = torch.eye(len(points), dtype=points.dtype)
    return (points @ points.T - 2 * itself).max(dim=1).values


def class_loss(z: Tensor, prototypes: Tensor, labels: Tensor) -> Tensor:
    """Equation 1: the squared distance of each output's cosine to its own prototype from 1."""
    return (1 - (normalize(z) * prototypes[labels]).sum(dim=1)) ** 2


def predict_class(z: Tensor, prototypes: Tensor) -> Tensor:
    """Equation 3: the nearest prototype."""
    return (normalize(z) @ prototypes.T).argmax(dim=1)


def number_loss(z: Tensor, pole: Tensor, numbers: Tensor, low: float, high: float) -> Tensor:
    """Equation 7: a number is a cosine to the upper pole, 1 for the highest and -1 for the lowest."""
    return (2 * (numbers - low) / (high - low) - 1 - normalize(z) @ pole) ** 2


def predict_number(z: Tensor, pole: Tensor, low: float, high: float) -> Tensor:
    """Read the number off the cosine."""
    return low + (high - low) * (1 + normalize(z) @ pole) / 2


def train(images: Tensor, targets: Tensor, dim: int, loss, rate: float, epochs=10) -> nn.Module:
    """Stochastic gradient descent as the paper has it, in few epochs."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))
    optimizer = torch.optim.SGD(network.parameters(), rate, momentum=0.9, weight_decay=1e-4)
    for _ in range(epochs):
        for rows in torch.randperm(len(images)).split(128):
            optimizer.zero_grad()
            loss(network(images[rows]), targets[rows]).backward()
            optimizer.step()
    return network


def main() -> dict[str, list[float]]:
    """Print accuracies by learning rate, and a class and a number from one output."""
    digits = load_digits()
    images = torch.tensor(digits.data / 16, dtype=torch.float32)
    labels, ink = torch.tensor(digits.target), images.mean(dim=1)
    seen, new = slice(None, 1_200), slice(1_200, None)
    prototypes = place(10, 9).float()

    losses = {
        "Equation 1, summed over the batch": lambda z, y: class_loss(z, prototypes, y).sum(),
        "softmax, averaged over the batch": cross_entropy,
        "softmax, summed over the batch": lambda z, y: cross_entropy(z, y, reduction="sum"),
    }
    accuracies: dict[str, list[float]] = {name: [] for name in losses}
    for name, loss in losses.items():
        on_sphere = name.startswith("Equation")
        for rate in RATES:
            network = train(images[seen], labels[seen], 9 if on_sphere else 10, loss, rate)
            z = network(images[new]).detach()
            found = predict_class(z, prototypes) if on_sphere else z.argmax(dim=1)
            accuracies[name].append(100 * float((found == labels[new]).float().mean()))
    print(f"accuracy in % at rate   {''.join(f'{rate:>8g}' for rate in RATES)}")
    for name, values in accuracies.items():
        print(f"{name:<36}"[:36] + "".join(f"{value:8.1f}" for value in values))

    # one output for both: nine axes for the classes, the tenth for how much ink a digit has
    low, high = float(ink[seen].min()), float(ink[seen].max())
    pole, around = torch.eye(10)[9], torch.cat([prototypes, torch.zeros(10, 1)], dim=1)

    def both(z: Tensor, rows: Tensor) -> Tensor:
        of_class = class_loss(z, around, labels[rows])
        return (of_class + number_loss(z, pole, ink[rows], low, high)).sum()

    z = train(images[seen], torch.arange(1_200), 10, both, 0.003, epochs=40)(images[new])
    z = z.detach()
    right = 100 * float((predict_class(z, around) == labels[new]).float().mean())
    error = float((predict_number(z, pole, low, high) - ink[new]).abs().mean())
    usual = float((ink[seen].median() - ink[new]).abs().mean())
    print(
        f"both from one output: {right:.1f} % right; ink within {error:.4f}, its median {usual:.4f}"
    )
    assert right > 80
    assert error < usual
    return accuracies


if __name__ == "__main__":
    main()
