"""The sphere at the end of a transformer, trained by Hugging Face's Trainer; the model is tiny."""

from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import BertConfig, BertModel, PreTrainedModel, Trainer, TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput

import hyperproto as hp


class BertOnASphere(PreTrainedModel):
    config_class = BertConfig

    def __init__(self, config):
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.space = hp.Space(3, hp.Classes(4))
        self.point = torch.nn.Linear(config.hidden_size, self.space.dim)
        self.post_init()

    def forward(self, input_ids, labels=None, **_):
        z = self.point(self.bert(input_ids).last_hidden_state.mean(dim=1))
        loss = None if labels is None else self.space(z, labels)
        # cosines: their argmax is the class
        return SequenceClassifierOutput(loss=loss, logits=self.space.scores(z))


torch.manual_seed(0)
labels = torch.arange(400) % 4
tokens = torch.randint(10, 50, (400, 8))
tokens[:, ::2] = labels[:, None] + 1  # every other word tells the class
rows = [{"input_ids": row, "labels": label} for row, label in zip(tokens, labels, strict=True)]
config = BertConfig(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=64,
    num_labels=4,
)
with TemporaryDirectory() as folder:
    trainer = Trainer(
        model=BertOnASphere(config),
        args=TrainingArguments(
            folder,
            num_train_epochs=4,
            learning_rate=5e-3,
            per_device_train_batch_size=32,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            seed=0,
        ),
        train_dataset=rows[:300],
        eval_dataset=rows[300:],
        compute_metrics=lambda found: {
            "accuracy": np.mean(found.predictions.argmax(1) == found.label_ids)
        },
    )
    trainer.train()
    measured = trainer.evaluate()
    trainer.save_model(folder)
    again = BertOnASphere.from_pretrained(folder)

print(measured)
assert torch.equal(again.space.prototypes.vectors, trainer.model.space.prototypes.vectors)
assert measured["eval_accuracy"] > 0.9
