/** Ports that the mesh listens on; 0 before it listens. */
export interface Ports {
  /** The agent API, on the gateway address of the agents' networks. */
  agentApi: number
  /** The forward proxy, on the same address. */
  proxy: number
  /**
   * All ports of this mesh. The egress filter never opens them to agents, whatever exceptions the owner configures.
   */
  readonly open: number[]
}
