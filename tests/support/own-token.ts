import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createMeshIdentity } from '../../packages/fleet/src/agents/connection/mesh-identity.ts'
import type { MeshIdentity } from '../../packages/fleet/src/agents/connection/mesh-identity.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'

/** Adds an agent token of a running agent to the home. The real token exists only in the agent's process. */
export function addDoorToken(home: string, agentId: string): string {
  const token = randomBytes(32).toString('base64url')
  const database = new DatabaseSync(join(home, 'data', 'mesh.db'))
  database.exec('PRAGMA busy_timeout = 5000')
  database
    .prepare(
      "INSERT INTO agent_tokens (hash, agent_id, token, start_id, issued_at) VALUES (?, ?, 'door', 'start_test', 0)",
    )
    .run(createHash('sha256').update(token, 'utf8').digest('hex'), agentId)
  database.close()
  return token
}

/** Returns the mesh's identity, made from the home's secret, which signs proofs to agents. */
export async function identityOf(home: string, shiftMs = 0): Promise<MeshIdentity> {
  const secret = (await readFile(join(home, 'data', 'mesh-secret'), 'utf8')).trim()
  return createMeshIdentity({ secret, clock: { ...systemClock, now: () => Date.now() + shiftMs } })
}
