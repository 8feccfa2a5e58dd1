// A browser refuses workers to a page from disk. There the search's script runs in a hidden frame,
// which has the same interface for what that script needs.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      // Later, as a worker's messages come: whoever asked is not interrupted.
      inside.postMessage = (data) =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      inside.importScripts = async (...addresses) => {
        for (const each of addresses) await this.#load(new URL(each, address));
      };
      this.inside = inside;
      this.ready = this.#load(address);
    }

    #load(address) {
      return new Promise((resolve, reject) => {
        const script = this.inside.document.createElement("script");
        script.src = String(address);
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot be loaded: ${address}`));
        this.inside.document.body.append(script);
      });
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
