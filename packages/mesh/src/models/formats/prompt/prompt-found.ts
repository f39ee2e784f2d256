/** What of a prompt is no text, found by the pass that checks it; what it may count is in `estimate.ts`. */
export interface PromptFound {
  images: number
  /** Also texts whose sentences are to be cited. */
  documents: number
  sounds: number
  /** Of the body, in base64: none of it is read as text. */
  dataBytes: number
  /** What the provider adds to a prompt for its own kinds of tools. */
  toolTokens: number
  /** Named by address, in the order of their places; to be fetched here and sent on as data. */
  readonly remote: RemoteMedia[]
  /** Tools of no kind that runs at the client's side. */
  readonly serverTools: ServerTool[]
  readonly toolNames: Set<string>
}

export type MediaKind = 'image' | 'document'

export interface RemoteMedia {
  readonly kind: MediaKind
  readonly url: string
  /** Where what was fetched is put. */
  readonly path: readonly (string | number)[]
  /** A `data:` address, or a source of the Messages API. */
  readonly as: 'address' | 'source'
}

export interface ServerTool {
  /** In the list of tools. */
  readonly index: number
  readonly type: string
}

export function nothingFound(): PromptFound {
  return {
    images: 0,
    documents: 0,
    sounds: 0,
    dataBytes: 0,
    toolTokens: 0,
    remote: [],
    serverTools: [],
    toolNames: new Set(),
  }
}
