/** The content of a prompt other than text, found while the prompt is checked; `estimate.ts` counts its tokens. */
export interface PromptFound {
  images: number
  /** The number of documents, including texts that are to be cited. */
  documents: number
  sounds: number
  /** The bytes of base64 data in the body; none of them are counted as text. */
  dataBytes: number
  /** Tokens that the provider adds to a prompt for its own kinds of tools. */
  toolTokens: number
  /** Media given by address, in order of their places; the mesh fetches them and sends their data. */
  readonly remote: RemoteMedia[]
  /** Tools that run at the provider. */
  readonly serverTools: ServerTool[]
  readonly toolNames: Set<string>
  /** The bytes of each deferred tool's definition, which the provider adds where a result refers to the tool. */
  readonly deferredBytes: Map<string, number>
}

export type MediaKind = 'image' | 'document'

export interface RemoteMedia {
  readonly kind: MediaKind
  readonly url: string
  /** The path in the request that the fetched data replaces. */
  readonly path: readonly (string | number)[]
  /** How the data are written: as a `data:` address, or as a source of the Messages API. */
  readonly as: 'address' | 'source'
}

export interface ServerTool {
  /** The index in the list of tools. */
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
    deferredBytes: new Map(),
  }
}
