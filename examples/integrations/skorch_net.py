"""The sphere as the criterion of a skorch net, with scikit-learn's grid search around it."""

import copy

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier

import hyperproto as hp

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32")
space = hp.Space(5, hp.Classes(10))
# of a copy that stays on the CPU: skorch moves its criterion, but not outputs
decide = copy.deepcopy(space).scores


def network(width=64):
    return torch.nn.Sequential(
        torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, space.dim)
    )


net = NeuralNetClassifier(
    network,
    criterion=space,
    # without it skorch would take the largest of five outputs for a class
    predict_nonlinearity=decide,
    optimizer=torch.optim.Adam,
    lr=0.01,
    max_epochs=8,
    iterator_train__shuffle=True,
    verbose=0,
)
search = GridSearchCV(net, {"module__width": [16, 64]}, cv=3, scoring="accuracy").fit(X, y)
print(search.best_params_, f"{100 * search.best_score_:.1f} %")


class SphereClassifier(NeuralNetClassifier):
    """A net whose criterion, built by skorch from its arguments, also decides: it cannot be
    forgotten.
    """

    def predict(self, inputs):
        return self.criterion_.predict(self.forward(inputs, device=self.device)).cpu().numpy()


net = SphereClassifier(
    network, criterion=hp.Space, criterion__dim=5, criterion__task=hp.Classes(10), optimizer=torch.optim.Adam,
    lr=0.01, max_epochs=8, iterator_train__shuffle=True, verbose=0,
)  # fmt: skip
losses = [hp.Classes(10, loss=name) for name in ("squared_cosine", "cosine_softmax")]
choice = GridSearchCV(net, {"criterion__task": losses}, cv=3, scoring="accuracy").fit(X, y)
watched = choice.best_estimator_.history[-1, "valid_acc"]  # which skorch takes from `predict`, too
print(choice.best_params_["criterion__task"].loss.name, f"{100 * choice.best_score_:.1f} %")
assert search.best_score_ > 0.8
assert min(choice.best_score_, watched) > 0.8
