/** The nine parts of the specification, in its order. */
export const sections = [
  'purpose',
  'resources',
  'states',
  'endpoints',
  'authentication',
  'events',
  'errors',
  'limits',
  'versioning',
] as const

export type Section = (typeof sections)[number]

/** State of a clause: exactly one of the four. `by` names the area that proves it. */
export type ClauseState =
  /** A test cites it with `verifies`. */
  | { readonly state: 'covered'; readonly by?: string }
  /** No test cites it yet. */
  | { readonly state: 'planned'; readonly by?: string }
  /** Not a task of the engine; `why` says whose it is, or that the clause states what is not done. */
  | { readonly state: 'outside'; readonly why: string }
  /** The product deviates on purpose; `decision` is a file whose name starts with its date. */
  | { readonly state: 'deviates'; readonly decision: `docs/decisions/${string}.md` }

/**
 * One statement of the specification. `line` is its line in `specification.md`; `text` is the statement in one
 * sentence. If the specification leaves something open, `decided` names the document section with the decision.
 */
export type Clause<In extends Section = Section> = ClauseState & {
  readonly id: `${In}:${string}`
  readonly line: number
  readonly text: string
  readonly decided?: `docs/${string}.md#${string}`
}
