import type { Destination } from '../../egress/index.ts'
import { textOf } from '../../egress/index.ts'
import type { Protocol } from './secure-server.ts'

/** How many pairs of agent and host are remembered; the one that was not used for the longest time is dropped. */
const pairsMax = 500

const both: readonly Protocol[] = ['h2', 'http/1.1']
const older: readonly Protocol[] = ['http/1.1']

interface Known {
  readonly serverSpeaksHttp2: boolean
  readonly chosen: Protocol
}

/**
 * Remembers in memory which version of HTTP a server speaks and an agent's programs chose. The mesh connects to the
 * server before it knows what the program offers: a wrong guess costs a second connection to the server.
 */
export interface NegotiatedProtocols {
  /** What to offer to the server. */
  toServer(agentId: string, destination: Destination): readonly Protocol[]
  /** What to offer to the program after the server has chosen: HTTP/2 only if the server speaks it. */
  toProgram(agentId: string, destination: Destination, ofServer: Protocol): readonly Protocol[]
  chose(agentId: string, destination: Destination, chosen: { server: Protocol; program: Protocol }): void
}

export function createNegotiatedProtocols(): NegotiatedProtocols {
  const pairs = new Map<string, Known>()
  const keyOf = (agentId: string, destination: Destination) => `${agentId} ${textOf(destination)}`
  const wasAsked = (key: string) => pairs.get(key)?.chosen !== 'http/1.1'
  const speaksHttp2 = (key: string, ofServer: Protocol) =>
    ofServer === 'h2' || (!wasAsked(key) && pairs.get(key)?.serverSpeaksHttp2 === true)
  return {
    toServer: (agentId, destination) => (wasAsked(keyOf(agentId, destination)) ? both : older),
    toProgram: (agentId, destination, ofServer) =>
      speaksHttp2(keyOf(agentId, destination), ofServer) ? both : older,
    chose: (agentId, destination, { server, program }) => {
      const key = keyOf(agentId, destination)
      const serverSpeaksHttp2 = speaksHttp2(key, server)
      // The map is in the order of use.
      pairs.delete(key)
      // Without HTTP/2 at the server there is nothing to remember: it is asked again each time.
      if (serverSpeaksHttp2) pairs.set(key, { serverSpeaksHttp2, chosen: program })
      for (const oldest of pairs.keys()) {
        if (pairs.size <= pairsMax) break
        pairs.delete(oldest)
      }
    },
  }
}
