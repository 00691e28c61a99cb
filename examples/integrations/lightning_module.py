"""The sphere in a LightningModule."""

from tempfile import TemporaryDirectory

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

import hyperproto as hp
from hyperproto.data import load_digits


class DigitsOnASphere(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.space = hp.Space(
            9, hp.Classes(10)
        )  # a module: it moves to the device, and is in the checkpoint
        self.network = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.BatchNorm1d(128), torch.nn.ReLU(),
            torch.nn.Linear(128, self.space.dim),
        )  # fmt: skip

    def training_step(self, batch, _):
        inputs, labels = batch
        return self.space(self.network(inputs), labels)

    def validation_step(self, batch, _):
        inputs, labels = batch
        z = self.network(inputs)
        self.log("loss", self.space(z, labels))
        self.log("accuracy", (self.space.predict(z) == labels).float().mean(), prog_bar=True)

    def predict_step(self, batch, _):
        return self.space.predict(
            self.network(batch[0])
        )  # never argmax: outputs are coordinates, not classes

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


lightning.seed_everything(0)
train, test = (TensorDataset(part.inputs, part.targets) for part in load_digits())
model = DigitsOnASphere()
with TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=5,
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
    )
    trainer.fit(
        model, DataLoader(train, batch_size=64, shuffle=True), DataLoader(test, batch_size=256)
    )
    (measured,) = trainer.validate(model, DataLoader(test, batch_size=256), verbose=False)
    predicted = torch.cat(trainer.predict(model, DataLoader(test, batch_size=256)))
    trainer.save_checkpoint(f"{folder}/model.ckpt")
    again = DigitsOnASphere.load_from_checkpoint(f"{folder}/model.ckpt", weights_only=True)

print(measured)
assert torch.equal(again.space.prototypes.vectors, model.space.prototypes.vectors)
assert measured["accuracy"] > 0.9
assert (predicted == test.tensors[1]).float().mean() > 0.9
