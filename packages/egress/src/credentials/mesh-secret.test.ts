import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { findMeshSecret, openMeshSecret, withoutMeshSecret } from './mesh-secret.ts'
import type { Secret } from './secret.ts'

const known = 'k'.repeat(43)
const line = `FLOTILLA_SYSTEM_MESH_SECRET='${known}'`

/** A home whose audit log was sealed with `known`, or never. */
async function aHome({
  lived = true,
  env = {},
  secret: own = known,
}: { lived?: boolean; env?: Record<string, string>; secret?: string } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'secret-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const texts: string[] = []
  const say = (_fields: object, fact: string) => void texts.push(fact)
  const places = { env, envFilePath: join(folder, '.env'), secretPath: join(folder, 'mesh-secret') }
  const sealed = (secret: Secret | null) => {
    if (!lived) return 'none'
    return secret?.reveal() === own ? 'own' : 'foreign'
  }
  const randomToken = () => 'n'.repeat(43)
  const open = () =>
    openMeshSecret({
      ...places,
      editor: createFileEditor(),
      randomToken,
      sealed,
      log: { info: say, warn: say },
    })
  return { ...places, said: texts, open, find: () => findMeshSecret({ ...places, sealed }) }
}

const refusedWith = (detail: RegExp) => ({
  code: 'mesh-secret-refused',
  detail: expect.stringMatching(detail) as string,
})

test('the secret of the mesh is created once, at the first start of a home', async () => {
  const home = await aHome({ lived: false })
  const first = await home.open()
  expect((await stat(home.secretPath)).mode & 0o777).toBe(0o600)
  expect((await home.open()).reveal()).toBe(first.reveal())
  expect((await home.find())?.reveal()).toBe(first.reveal())
})

test('an existing home gets no new secret, and nothing is written', async () => {
  const home = await aHome()
  await expect(home.open()).rejects.toMatchObject(refusedWith(/mesh-secret is missing/))
  await expect(stat(home.secretPath)).rejects.toThrow('ENOENT')
})

test.each<[string, (path: string) => Promise<unknown>, RegExp]>([
  ['empty', (path) => writeFile(path, ''), /is empty/],
  ['an empty line', (path) => writeFile(path, '\n'), /is empty/],
  ['cut short', (path) => writeFile(path, known.slice(0, 20)), /20 characters/],
  ['two lines', (path) => writeFile(path, `${known}\n${known}\n`), /one line/],
  ['no text', (path) => writeFile(path, Buffer.alloc(43, 0xff)), /one line/],
  ['far too long', (path) => writeFile(path, 'x'.repeat(100_000)), /longer than/],
  ['another one', (path) => writeFile(path, 'o'.repeat(43)), /another home/],
  ['a folder', (path) => mkdir(path), /not a regular file/],
  [
    'a link to the right one',
    async (path) => {
      await writeFile(`${path}.there`, known)
      await symlink(`${path}.there`, path)
    },
    /is a symbolic link/,
  ],
])('a file that is %s is refused, though .env has the right one', async (_what, spoil, words) => {
  const home = await aHome()
  await writeFile(home.envFilePath, `${line}\n`)
  await spoil(home.secretPath)
  await expect(home.open()).rejects.toMatchObject(refusedWith(words))
  expect(await readFile(home.envFilePath, 'utf8')).toBe(`${line}\n`)
})

test('a secret in .env moves into the file, and the environment overrides the file', async () => {
  const home = await aHome()
  await writeFile(home.envFilePath, `A=1\n${line}`)
  expect((await home.open()).reveal()).toBe(known)
  expect(await readFile(home.envFilePath, 'utf8')).toBe('A=1\n')
  const other = await aHome({ env: { FLOTILLA_SYSTEM_MESH_SECRET: known } })
  await writeFile(other.envFilePath, `FLOTILLA_SYSTEM_MESH_SECRET=${'o'.repeat(43)}\n`)
  expect((await other.open()).reveal()).toBe(known)
  expect(await readFile(other.secretPath, 'utf8')).toBe(`${known}\n`)
})

test('one in .env that is cut short, or is another, is refused by its place', async () => {
  for (const [value, words] of [
    [known.slice(0, 9), /\.env has 9 characters/],
    ['o'.repeat(43), /\.env has a secret that belongs to another home/],
  ] as const) {
    const home = await aHome()
    await writeFile(home.envFilePath, `FLOTILLA_SYSTEM_MESH_SECRET=${value}\n`)
    await expect(home.open()).rejects.toMatchObject(refusedWith(words))
    await expect(stat(home.secretPath)).rejects.toThrow('ENOENT')
  }
})

test.each(['short', 'a few words'])(
  '%j, sealed with in an older home, is taken as it is and stays so',
  async (value) => {
    const home = await aHome({ secret: value })
    await writeFile(home.envFilePath, `FLOTILLA_SYSTEM_MESH_SECRET='${value}'\n`)
    expect((await home.open()).reveal()).toBe(value)
    expect(await readFile(home.secretPath, 'utf8')).toBe(`${value}\n`)
    expect((await home.open()).reveal()).toBe(value)
    expect((await home.find())?.reveal()).toBe(value)
  },
)

test('a short one is not taken for a home that sealed nothing', async () => {
  const home = await aHome({ lived: false, env: { FLOTILLA_SYSTEM_MESH_SECRET: 'short' } })
  await expect(home.open()).rejects.toMatchObject(refusedWith(/has 5 characters/))
})

test('a start that was cut off between the file and .env is finished by the next', async () => {
  const home = await aHome()
  await writeFile(home.secretPath, `${known}\n`, { mode: 0o600 })
  await writeFile(home.envFilePath, `${line}\nA=1\n`)
  await home.open()
  expect(await readFile(home.envFilePath, 'utf8')).toBe('A=1\n')
  expect(home.said).toEqual([expect.stringContaining('moved the secret of the mesh from .env')])
})

test.each([
  ['\uFEFFA=1\r\nexport FLOTILLA_SYSTEM_MESH_SECRET=x\r\n\r\n# c', '\uFEFFA=1\r\n\r\n# c'],
  ['\uFEFFFLOTILLA_SYSTEM_MESH_SECRET=x\nB=2', '\uFEFFB=2'],
  ['FLOTILLA_SYSTEM_mesh_secret=x\nFLOTILLA_SYSTEM_MESH_SECRET=y\n', ''],
  ['# FLOTILLA_SYSTEM_MESH_SECRET=x\n', '# FLOTILLA_SYSTEM_MESH_SECRET=x\n'],
  ['FLOTILLA_CRED_MESH_SECRET=x\n\n\n', 'FLOTILLA_CRED_MESH_SECRET=x\n\n\n'],
  [
    'FLOTILLA_SYSTEM_MESH_SECRET=x\n# not UTF-8: \uFFFD',
    'FLOTILLA_SYSTEM_MESH_SECRET=x\n# not UTF-8: \uFFFD',
  ],
])('withoutMeshSecret keeps every other byte of %j', (text, rest) => {
  expect(withoutMeshSecret(text)).toBe(rest)
})
