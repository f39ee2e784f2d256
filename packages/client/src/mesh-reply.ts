/** What this client reads of a `Response`. */
export interface MeshReply extends Pick<Response, 'ok' | 'status' | 'text' | 'arrayBuffer'> {
  readonly headers: Pick<Headers, 'get'>
  readonly body: { getReader(): MeshReader } | null
}

export interface MeshReader {
  read(): Promise<{ readonly done: false; readonly value: Uint8Array } | { readonly done: true }>
  cancel(): Promise<void>
}

export interface MeshRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** A redirect is an error: it could lead to another server, with the caller's token. */
  readonly redirect: 'error'
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly signal?: AbortSignal
}

/** Sends one request. Rejects if no reply begins. `globalThis.fetch` is one. */
export type MeshFetch = (url: URL, request: MeshRequest) => Promise<MeshReply>
