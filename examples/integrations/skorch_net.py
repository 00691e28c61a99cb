"""The sphere as the criterion of a skorch net, with scikit-learn's grid search around it."""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier

import hyperproto as hp

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32")
space = hp.Space(5, hp.Classes(10))


def network(width=64):
    return torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, space.dim))


net = NeuralNetClassifier(
    network,
    criterion=space,
    predict_nonlinearity=space.scores,  # without it skorch would take the largest of five outputs for a class
    optimizer=torch.optim.Adam,
    lr=0.01,
    max_epochs=8,
    iterator_train__shuffle=True,
    verbose=0,
)
search = GridSearchCV(net, {"module__width": [16, 64]}, cv=3, scoring="accuracy").fit(X, y)
print(search.best_params_, f"{100 * search.best_score_:.1f} %")

# the class itself, its arguments prefixed, can be searched over, too; then score by the criterion that was built
net = NeuralNetClassifier(
    network, criterion=hp.Space, criterion__dim=5, criterion__task=hp.Classes(10), optimizer=torch.optim.Adam,
    lr=0.01, max_epochs=8, verbose=0, train_split=None,
)  # fmt: skip
net.fit(X, y)
built = (net.criterion_.predict(net.forward(X)).numpy() == y).mean()
assert search.best_score_ > 0.8
assert built > 0.8
