dataflow signal publish --state state
touch state/signals/publish
