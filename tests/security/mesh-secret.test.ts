import { appendFile, chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { copyMeshForTest, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'

/** A used home whose mesh is stopped; each test gets a copy of it. */
let lived: MeshProcess
beforeAll(async () => {
  lived = await startMesh({ cassettes: { plain: aCassette({ turns: [says('Yes.')] }) } })
  await lived.terminate()
})
afterAll(() => lived?.stop())

const aLivedHome = () => copyMeshForTest(lived)
const secretOf = (mesh: MeshProcess) => join(mesh.home, 'data', 'mesh-secret')
const envOf = (mesh: MeshProcess) => join(mesh.home, '.env')
const journal = (mesh: MeshProcess, ...words: string[]) => flotilla({ home: mesh.home }, 'journal', ...words)

async function keptAside(mesh: MeshProcess): Promise<readonly string[]> {
  const data = join(mesh.home, 'data')
  const names = (await readdir(data)).filter((name) => name.startsWith('mesh-secret.refused-'))
  return Promise.all(names.map((name) => readFile(join(data, name), 'utf8')))
}

function change(mesh: MeshProcess, sql: string): void {
  const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'))
  database.exec(sql)
  database.close()
}

async function refusal(mesh: MeshProcess): Promise<Record<string, string>> {
  await expect(mesh.restart()).rejects.toThrow(/the mesh ended with 78/)
  return mesh.told().findLast((line) => 'problem' in line)?.['problem'] as Record<string, string>
}

/**
 * Checks the home after `journal begin-anew`. A start of the mesh is checked once below, and here only with all
 * long proofs.
 */
async function isTheHomesNow(mesh: MeshProcess): Promise<void> {
  if (isSoak) {
    await mesh.restart()
    expect((await mesh.call(meshHumanEndpoints.readyz)).json()).toMatchObject({ ready: true, problems: [] })
  }
  expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
}

describe('the secret of the mesh', () => {
  it('the secret of the mesh is in a file of its own, so that who writes a key over .env loses nothing', async () => {
    const mesh = await aLivedHome()
    expect((await stat(secretOf(mesh))).mode & 0o777).toBe(0o600)
    const secret = await readFile(secretOf(mesh), 'utf8')
    expect(secret).toMatch(/^[\w-]{43}\n$/)
    expect(await readFile(envOf(mesh), 'utf8').catch(() => '')).not.toContain('MESH_SECRET')
    await writeFile(envOf(mesh), 'FLOTILLA_SYSTEM_OPENAI_API_KEY=sk-mine\n')
    await mesh.restart()
    expect(await readFile(secretOf(mesh), 'utf8')).toBe(secret)
    expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
    const accepted = await flotilla(mesh, 'journal', 'accept')
    expect(accepted, accepted.err).toMatchObject({ code: 0 })
    expect(accepted.out).toContain('audit log was not broken')
    expect((await journal(mesh, 'begin-anew', '--yes')).err).toContain('runs')
    expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
    expect(mesh.log()).not.toContain(secret.trim())
  })

  it('the secret of the mesh moves out of the .env of an older home at its next start, and leaves the rest byte for byte', async () => {
    const mesh = await aLivedHome()
    const secret = (await readFile(secretOf(mesh), 'utf8')).trim()
    await rm(secretOf(mesh))
    const before = '\uFEFF# mine\r\n\r\nA=1  # x\r\n'
    const after = "\n\n  B='two' \nFLOTILLA_CRED_X=long enough"
    await writeFile(envOf(mesh), `${before}FLOTILLA_SYSTEM_MESH_SECRET='${secret}'\n${after}`)
    await mesh.restart()
    expect(await readFile(envOf(mesh), 'utf8')).toBe(before + after)
    expect((await stat(envOf(mesh))).mode & 0o777).toBe(0o600)
    expect(await readFile(secretOf(mesh), 'utf8')).toBe(`${secret}\n`)
    expect(mesh.log()).toContain('moved the secret of the mesh from .env')
    expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
    expect((await mesh.call(meshHumanEndpoints.readyz)).json()).toMatchObject({ ready: true, problems: [] })
  })

  it('a mesh without its secret does not start until a person begins anew, which is reported from then on', async () => {
    const mesh = await aLivedHome()
    const secret = await readFile(secretOf(mesh), 'utf8')
    await rm(secretOf(mesh))
    await writeFile(envOf(mesh), 'FLOTILLA_SYSTEM_OPENAI_API_KEY=sk-mine\n')
    const problem = await refusal(mesh)
    expect(problem).toMatchObject({ code: 'mesh-secret-refused' })
    expect(problem['detail']).toContain(secretOf(mesh))
    expect(problem['repair']).toContain('flotilla journal begin-anew')
    // No new secret was created, so that the one of a backup can be put back.
    await expect(stat(secretOf(mesh))).rejects.toThrow('ENOENT')
    await writeFile(secretOf(mesh), secret, { mode: 0o600 })
    if (isSoak) {
      await mesh.restart()
      await mesh.terminate()
    }
    const needless = await journal(mesh, 'begin-anew', '--yes')
    expect(needless.code).toBe(1)
    expect(needless.err).toContain('is not lost')

    await rm(secretOf(mesh))
    expect((await journal(mesh, 'begin-anew')).err).toContain('Add --yes')
    const begun = await journal(mesh, 'begin-anew', '--yes')
    expect(begun, begun.err).toMatchObject({ code: 0 })
    expect((await stat(secretOf(mesh))).mode & 0o777).toBe(0o600)
    await mesh.restart()
    expect((await mesh.call(meshHumanEndpoints.readyz)).json()).toMatchObject({ ready: true, problems: [] })
    const verified = await journal(mesh, 'verify')
    expect(verified, verified.out).toMatchObject({ code: 0 })
    expect(verified.out).toMatch(/accepted by human:cli at 20\d\d-.*secret of the mesh was lost/)
    await mesh.terminate()
    expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
  })

  const other = 'o'.repeat(43)
  it('a mesh with another secret does not start, and the file is kept aside when a person begins anew', async () => {
    const mesh = await aLivedHome()
    await writeFile(secretOf(mesh), `${other}\n`)
    expect(await refusal(mesh)).toMatchObject({
      code: 'mesh-secret-refused',
      detail: expect.stringContaining('belongs to another home') as string,
    })
    const begun = await journal(mesh, 'begin-anew', '--yes')
    expect(begun, begun.err).toMatchObject({ code: 0 })
    await writeFile(secretOf(mesh), 'cut short\n')
    const again = await journal(mesh, 'begin-anew', '--yes')
    expect(again, again.err).toMatchObject({ code: 0 })
    expect((await keptAside(mesh)).toSorted()).toEqual(['cut short\n', `${other}\n`])
    await isTheHomesNow(mesh)
  })

  it('a secret readable by other users is made private with a warning; a second one in .env is ignored', async () => {
    const mesh = await aLivedHome()
    await chmod(secretOf(mesh), 0o644)
    await appendFile(envOf(mesh), `FLOTILLA_SYSTEM_MESH_SECRET=${other}\n`)
    await mesh.restart()
    expect((await stat(secretOf(mesh))).mode & 0o777).toBe(0o600)
    expect(mesh.log()).toContain('the secret of the mesh was readable by others')
    expect(mesh.log()).toContain('FLOTILLA_SYSTEM_MESH_SECRET is obsolete')
    expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
    expect((await mesh.call(meshHumanEndpoints.readyz)).json()).toMatchObject({ ready: true, problems: [] })
  })

  it('the secret of the mesh is not lost while any of its places has it, or cannot be read', async () => {
    const mesh = await aLivedHome()
    const secret = (await readFile(secretOf(mesh), 'utf8')).trim()
    await writeFile(secretOf(mesh), 'cut short\n')
    await writeFile(envOf(mesh), `this line is broken\nFLOTILLA_SYSTEM_MESH_SECRET=${secret}\n`)
    const inEnv = await journal(mesh, 'begin-anew', '--yes')
    expect(inEnv).toMatchObject({ code: 1 })
    expect(inEnv.err).toContain('.env')
    await rm(envOf(mesh))
    await mkdir(envOf(mesh))
    const unread = await journal(mesh, 'begin-anew', '--yes')
    expect(unread).toMatchObject({ code: 1 })
    expect(unread.err).toContain('unknown whether the secret is lost')
    expect(await readFile(secretOf(mesh), 'utf8')).toBe('cut short\n')
    expect(await keptAside(mesh)).toEqual([])
  })

  // A kill after a step leaves the same files as a failure of the next step, so the tests make the next step fail.
  it('a secret from an interrupted new beginning is replaced by the next one', async () => {
    const mesh = await aLivedHome()
    await rm(secretOf(mesh))
    change(mesh, "CREATE TRIGGER cut BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'cut off'); END")
    expect((await journal(mesh, 'begin-anew', '--yes')).code).not.toBe(0)
    change(mesh, 'DROP TRIGGER cut')
    const cut = await readFile(secretOf(mesh), 'utf8')
    expect(await refusal(mesh)).toMatchObject({ code: 'mesh-secret-refused' })
    const begun = await journal(mesh, 'begin-anew', '--yes')
    expect(begun, begun.err).toMatchObject({ code: 0 })
    expect(await keptAside(mesh)).toEqual([cut])
    await isTheHomesNow(mesh)
  })

  const cuts = ['the anchor was written', 'the head was sealed anew']
  it.each(isSoak ? cuts : cuts.slice(0, 1))(
    'the secret of the mesh is the home’s when beginning anew was cut off after %s, and accepting the journal ends it',
    async (step) => {
      const mesh = await aLivedHome()
      await rm(secretOf(mesh))
      const anchors = join(mesh.home, 'data', 'journal-anchors.jsonl')
      await copyFile(anchors, `${anchors}.before`)
      change(
        mesh,
        "CREATE TRIGGER cut BEFORE INSERT ON journal_checkpoints BEGIN SELECT RAISE(ABORT, 'cut off'); END",
      )
      expect((await journal(mesh, 'begin-anew', '--yes')).code).not.toBe(0)
      change(mesh, 'DROP TRIGGER cut')
      if (step === 'the head was sealed anew') await copyFile(`${anchors}.before`, anchors)
      const again = await journal(mesh, 'begin-anew', '--yes')
      expect(again).toMatchObject({ code: 1 })
      await mesh.restart()
      const accepted = await flotilla(mesh, 'journal', 'accept')
      expect(accepted, accepted.err).toMatchObject({ code: 0 })
      const { problems } = (await mesh.call(meshHumanEndpoints.readyz)).json() as { problems: unknown }
      expect(problems).toEqual([])
      expect(await journal(mesh, 'verify')).toMatchObject({ code: 0 })
    },
  )
})
