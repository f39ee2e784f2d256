/** Ports that the mesh listens on, each known once it does; 0 before. */
export interface Ports {
  /** For agents, where their network is. */
  agentApi: number
  /** The forward proxy, beside it. */
  proxy: number
  /** All of this mesh: no exception of the owner's ever opens them to agents. */
  readonly open: number[]
}
