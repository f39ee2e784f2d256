import { onTestFinished } from 'vitest'
import { createServerConnection } from '../mcp-servers/server-connection.ts'
import type { ServerConnection } from '../mcp-servers/server-connection.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { systemClock } from '../system-clock.ts'
import { quietLog } from './quiet-log.ts'

/** A connection to an MCP server on the network, through the mesh of the current run; closed when the test ends. */
export function aServerConnection(at: {
  readonly name: string
  readonly url: string
  readonly mesh: () => RunMesh | null
}): ServerConnection {
  const { name, url, mesh } = at
  const connection = createServerConnection({
    brief: {
      kind: 'remote',
      name,
      url,
      transport: 'http',
      startupTimeoutMs: 60_000,
      callTimeoutMs: 60_000,
      tools: null,
    },
    loadSdk: () => import('../parts/mcp.ts'),
    mesh,
    environment: {},
    directory: '/',
    clock: systemClock,
    log: quietLog,
    onChanged: () => undefined,
  })
  onTestFinished(() => connection.close())
  return connection
}
