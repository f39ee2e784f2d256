import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { tmpdir } from 'node:os'
import { builtProgram } from '@flotilla/protocol/built-program'
import { expect, it } from 'vitest'
import { pinnedNode, repositoryRoot, startMeshForTest } from '../support/mesh-process.ts'

/** Modules of Flotilla that Node reports as loaded from its compile cache, in loading order. */
function takenFromCache(log: string): readonly string[] {
  return [...log.matchAll(/(\S+) was accepted/g)]
    .map(([, file = '']) => file.replace(/^file:\/\//, ''))
    .filter((file) => file.startsWith(repositoryRoot))
}

it('a mesh runs as it was built, and after a kill from what its life before has compiled', async () => {
  const done = spawnSync(pinnedNode, [join(repositoryRoot, 'scripts', 'build-programs.ts')], {
    encoding: 'utf8',
  })
  const built = builtProgram(fs, resolve(repositoryRoot), 'mesh')
  expect(built, done.stderr).not.toBeNull()
  const caches = mkdtempSync(join(tmpdir(), 'caches-'))
  const mesh = await startMeshForTest({
    environment: { XDG_CACHE_HOME: caches, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
  })
  expect(takenFromCache(mesh.log())).toEqual([])
  // The cache is written right after the mesh is ready; this request is answered later.
  expect((await mesh.runs()).length).toBe(0)

  await mesh.kill9()
  await mesh.restart()

  const taken = takenFromCache(mesh.log())
  expect(new Set(taken.map((file) => dirname(file)))).toEqual(new Set([dirname(built ?? '')]))
  expect(taken.map((file) => basename(file))).toEqual(
    expect.arrayContaining([expect.stringMatching(/^run-command-line-/), expect.stringMatching(/^serve-/)]),
  )
})
