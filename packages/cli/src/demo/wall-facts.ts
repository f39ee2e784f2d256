/** The network place of an agent. */
export interface AgentPlace {
  readonly addresses: readonly string[]
  readonly port: number
  /** HTTP status of the agent's own `/healthz` on loopback. */
  readonly healthz: number
  /** Whether the agent's own port accepts connections on loopback. */
  readonly listens: boolean
  readonly api: { readonly host: string; readonly port: number }
}

/** A secret that must not be inside a container; only its hash is sent into the container. */
export interface KnownSecret {
  readonly name: string
  readonly value: string
}

/** What the attempts need to know about the outside of the container. */
export interface WallFacts {
  readonly isolates: boolean
  readonly self: AgentPlace
  readonly other: AgentPlace
  readonly canary: {
    readonly port: number
    readonly addresses: readonly string[]
    readonly connections: () => number
  }
  readonly secrets: readonly KnownSecret[]
  /** A secret that the demo put into a file of the worker: the search must find it, or it proves nothing. */
  readonly control: KnownSecret
}
