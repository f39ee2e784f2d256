/**
 * Members of a chat completion by which an agent names the tools that its conversation has found, beside the text that
 * describes them. For a model whose provider has a tool search, the mesh sends the definitions as deferred tools
 * and the results of the search as references to them; for all other models it leaves these members out. They grant
 * nothing: the mesh decides each call of a tool when it is made.
 */
export const deferredTools = {
  /** Of the request: the definitions of found tools, in the order in which they were found; empty before the first. */
  definitions: 'deferred_tools',
  /** Of a tool message: which of these tools the result describes, and what else it says. */
  found: 'found_tools',
} as const

export const deferredToolLimits = {
  /** The maximum number of found tools that one request defines; a conversation with more is sent as text alone. */
  toolsMax: 256,
  /** The maximum size of these definitions as JSON, in bytes. */
  maxBytes: 128 * 1024,
} as const
