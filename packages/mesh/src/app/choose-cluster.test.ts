import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agentsCluster, noteCluster, notedCluster, refuseElsewhere, runtimeKind } from './choose-cluster.ts'

const nothing = {
  context: null,
  namespace: null,
  address: null,
  image: null,
  seccomp: null,
  storageClass: null,
  service: null,
}
const noted = { context: 'prod', namespace: 'fleet' }

test('agents run in the recorded cluster and namespace, or in the default namespace', () => {
  expect(agentsCluster(nothing, null)).toMatchObject({ context: undefined, namespace: 'flotilla' })
  expect(agentsCluster(nothing, noted)).toMatchObject(noted)
  expect(agentsCluster({ ...nothing, context: 'prod' }, noted)).toMatchObject(noted)
})

test.each([
  { context: 'other', namespace: null },
  { context: null, namespace: 'other' },
])('another cluster than the recorded one is refused with a repair: %o', (asked) => {
  expect(() => agentsCluster({ ...nothing, ...asked }, noted)).toThrow(
    expect.objectContaining({
      code: 'conflict',
      detail: expect.stringContaining('are in namespace fleet of context prod'),
      repair: expect.stringContaining('flotilla restore'),
    }),
  )
})

test('agents of a cluster are not started again on this machine', () => {
  for (const runtime of ['docker', 'process'] as const)
    expect(() => refuseElsewhere({ runtime }, noted)).toThrow(/and their data are in/)
  expect(runtimeKind({ runtime: null }, noted)).toBe('kubernetes')
  refuseElsewhere({ runtime: null }, noted)
  refuseElsewhere({ runtime: 'process' }, null)
  expect(runtimeKind({ runtime: null }, null)).toBe('docker')
})

test("our seccomp profile is used unless the owner chooses the runtime's default", () => {
  expect(agentsCluster(nothing, null).seccomp).toEqual({ kind: 'localhost', path: 'flotilla.json' })
  expect(agentsCluster({ ...nothing, seccomp: 'a/b.json' }, null).seccomp).toMatchObject({ path: 'a/b.json' })
  const asked = agentsCluster(
    { ...nothing, seccomp: 'runtime-default', image: 'registry.example/agent:1' },
    null,
  )
  expect(asked).toMatchObject({ seccomp: { kind: 'runtime-default' }, image: 'registry.example/agent:1' })
})

test('the recorded cluster is read again, and an unreadable record is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cluster-note-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'cluster.json')
  expect(notedCluster(path)).toBeNull()
  await noteCluster(path, agentsCluster({ ...nothing, namespace: 'fleet' }, null))
  expect(notedCluster(path)).toEqual({ context: null, namespace: 'fleet' })
  await writeFile(path, `${await readFile(path, 'utf8')}}`)
  expect(() => notedCluster(path)).toThrow(/cannot be read/)
})
