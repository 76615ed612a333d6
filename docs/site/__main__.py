"""``python -m docs.site``: build the site into ``build/site``."""

from docs.site.build import ROOT, build

folder = ROOT / "build"
folder.mkdir(exist_ok=True)
print(f"open {build(folder)}")
