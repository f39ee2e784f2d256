import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { eventually } from './eventually.ts'
import type { MeshProcess } from './mesh-process.ts'

/** Changes an agent's permissions by editing the file, as an owner does, and waits until the mesh has applied it. */
export async function editPermissions(
  mesh: MeshProcess,
  agent: string,
  fields: Partial<PermissionRecord>,
): Promise<void> {
  const path = join(mesh.home, 'config', 'permissions.json')
  const file = JSON.parse(await readFile(path, 'utf8')) as { permissions: Record<string, object> }
  file.permissions[agent] = { ...file.permissions[agent], ...fields }
  await writeFile(`${path}.new`, JSON.stringify(file, null, 2))
  await rename(`${path}.new`, path)
  await eventually(`the mesh goes by what ${agent} may now`, async () => {
    const told = (await mesh.call(controlEndpoints.agentConfig, { params: { id: agent } })).json()
    const holds = told['permissions'] as Record<string, unknown> | null
    return Object.entries(fields).every(([name, value]) => isDeepStrictEqual(holds?.[name], value))
  })
}
