// A browser starts no worker from a file: where the site is opened without a server, its search runs in a hidden frame.
"use strict";

class WorkerInFrame extends EventTarget {
  #frame = document.createElement("iframe");
  #loaded;

  constructor(url) {
    super();
    this.#frame.hidden = true;
    document.body.append(this.#frame);
    const inside = this.#frame.contentWindow;
    inside.postMessage = (data) => this.#receive(structuredClone(data));
    inside.importScripts = async (...urls) => {
      for (const each of urls) {
        await WorkerInFrame.#load(inside.document, each);
      }
    };
    this.#loaded = WorkerInFrame.#load(inside.document, url);
    this.#loaded.catch((error) => this.dispatchEvent(new ErrorEvent("error", { error })));
  }

  static #load(page, url) {
    return new Promise((resolve, reject) => {
      const script = page.createElement("script");
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} cannot be loaded`));
      script.src = url;
      page.body.append(script);
    });
  }

  #receive(data) {
    const message = new MessageEvent("message", { data });
    this.dispatchEvent(message);
    this.onmessage?.(message);
  }

  async postMessage(data) {
    await this.#loaded;
    this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
  }

  terminate() {
    this.#frame.remove();
  }
}

if (location.protocol === "file:") {
  window.Worker = WorkerInFrame;
}
