import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startMeshForTest } from '../support/mesh-process.ts'

/** Modules of ours that Node says it took from its cache, in the order in which they were loaded. */
function takenFromCache(log: string): readonly string[] {
  return [...log.matchAll(/packages\/(mesh\/src\/\S+\.ts) was accepted/g)].map(([, file = '']) => file)
}

it('a mesh that was killed starts from what its life before has compiled', async () => {
  const caches = mkdtempSync(join(tmpdir(), 'caches-'))
  const mesh = await startMeshForTest({
    environment: { XDG_CACHE_HOME: caches, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
  })
  expect(takenFromCache(mesh.log())).toEqual([])
  // The cache is written right after it is ready; whatever answers afterwards came later.
  expect((await mesh.runs()).length).toBe(0)

  await mesh.kill9()
  await mesh.restart()

  expect(takenFromCache(mesh.log())).toEqual(
    expect.arrayContaining([
      'mesh/src/commands/serve.ts',
      'mesh/src/compose.ts',
      'mesh/src/runs/submit-run.ts',
    ]),
  )
})
