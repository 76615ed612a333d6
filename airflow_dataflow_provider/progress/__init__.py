"""The published progress of a job: its watermarks, epochs, owner, and requests.

A pipeline's *state URL* holds a few small JSON documents beside the engine's own files. They are append-only and
readable by people, and a reader always sees a whole document:

* ``pipeline.json``: the identity of the pipeline (:mod:`.identity`);
* ``owners/``: the drivers of the pipeline, with a fencing token and a heartbeat (:mod:`.owner`);
* ``epochs/``: plan, prepared result and commit of every epoch (:mod:`.records`, :mod:`.log`), old ones packed
  (:mod:`.epoch_documents`, :mod:`.archive`);
* ``requests/``: stop, drain, signal (:mod:`.requests`).

:mod:`.status` reads all of them as one value, :mod:`.answer` turns that into *reached*, *not yet* or *never*. This
package needs neither Spark nor Airflow, and both sides read and write it.
"""
