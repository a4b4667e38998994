/** A connection to V8's inspector, for a process that was started with `--inspect=127.0.0.1:<port>`. */
export class Inspector {
  readonly #socket: WebSocket;
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async of(port: number): Promise<Inspector> {
    const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as [
      { webSocketDebuggerUrl: string },
    ];
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((opened) => socket.addEventListener('open', opened, { once: true }));
    return new Inspector(socket);
  }

  call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      const listen = ({ data }: MessageEvent): void => {
        const message = JSON.parse(String(data)) as {
          id?: number;
          result?: unknown;
          error?: { message: string };
        };
        if (message.id !== id) return;
        this.#socket.removeEventListener('message', listen);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      };
      this.#socket.addEventListener('message', listen);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#socket.close();
  }
}
