import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { eventually } from './eventually.ts'
import type { MeshProcess } from './mesh-process.ts'

/** Writes the owner's policy, and resolves when the mesh applies the rule or preset of this name. */
export async function layPolicy(mesh: MeshProcess, text: string, name: string): Promise<void> {
  await writeFile(join(mesh.home, 'config', 'policy.yaml'), text)
  await eventually('the policy applies', async () =>
    (await mesh.call(controlEndpoints.policy)).text.includes(name) ? true : null,
  )
}
