import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { aCassette, says } from './cassettes.ts'
import { openMesh } from './mesh-process.ts'
import type { MeshProcess } from './mesh-process.ts'
import { mountAt } from './small-disk.ts'
import type { SmallDisk } from './small-disk.ts'

/** A mesh whose whole home is on a separate small disk; both are removed at the end of the test. */
export async function meshOnDisk(size: {
  readonly sizeMb: number
  readonly inodes?: number
}): Promise<{ readonly mesh: MeshProcess; readonly disk: SmallDisk }> {
  const home = mkdtempSync(join(tmpdir(), 'flotilla-flow-'))
  const disk = mountAt(home, size)
  onTestFinished(() => {
    disk.unmount()
    rmSync(home, { recursive: true, force: true })
  })
  for (const name of ['config', 'cassettes']) mkdirSync(join(home, name))
  writeFileSync(join(home, 'config', 'settings.json'), JSON.stringify({ default_model: 'scripted/disk' }))
  writeFileSync(join(home, 'cassettes', 'disk.json'), JSON.stringify(aCassette({ turns: [says('Yes.')] })))
  const mesh = openMesh(home)
  onTestFinished(async () => {
    await disk.drain()
    await mesh.terminate()
  })
  await mesh.restart()
  return { mesh, disk }
}
