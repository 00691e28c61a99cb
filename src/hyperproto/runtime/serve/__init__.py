"""An exported model over HTTP: the Open Inference Protocol for programs, ``/predict`` and a page
for people.

Requests pass ``gate`` (limits, metrics, shutdown), are read by ``protocol`` or ``people``, wait in
``batching`` for the one thread that runs the model, and are answered by ``app``. It needs the extra
``serve``, and no torch.
"""
