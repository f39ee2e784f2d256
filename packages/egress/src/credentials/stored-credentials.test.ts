import { spawn } from 'node:child_process'
import { mkdtemp, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { readCredentialValue } from './credential-value.ts'
import { parseEnvText } from './env-file.ts'
import { createVault } from './vault.ts'

async function aHome(text = '', env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'vault-'))
  const envFilePath = join(folder, '.env')
  await writeFile(envFilePath, text)
  const openVault = () => createVault({ env, envFilePath, editor: createFileEditor() })
  return { folder, envFilePath, openVault, vault: await openVault() }
}

describe('a stored credential', () => {
  test('a stored credential holds at once and after a restart, whatever is in it', async () => {
    heedsLesson(32)
    verifies('purpose:env-file:mode-600')
    const { vault, openVault, envFilePath } = await aHome('# mine\nOTHER=1\n')
    const values = [`$HOME \${X} \`ls\` "q" 'q' \\ # no comment`, "it's", '=====token=====']
    for (const [at, value] of values.entries()) await vault.storeAgent(`name_${at}`, value)
    const again = await openVault()
    for (const [at, value] of values.entries()) {
      expect(vault.agentTier(`NAME_${at}`)?.reveal()).toBe(value)
      expect(again.agentTier(`name_${at}`)?.reveal()).toBe(value)
    }
    expect(await readFile(envFilePath, 'utf8')).toMatch(/^# mine\nOTHER=1\n/)
    expect((await stat(envFilePath)).mode & 0o777).toBe(0o600)
  })

  test('a stored credential replaces every older spelling of its name, and removing leaves none', async () => {
    const { vault, openVault } = await aHome(
      'FLOTILLA_CRED_GitHub=first-value\nexport FLOTILLA_CRED_GITHUB=second-value\nFLOTILLA_SYSTEM_GITHUB=of-the-mesh\n',
    )
    await vault.storeAgent('github', 'third-value')
    expect((await openVault()).agentTier('github')?.reveal()).toBe('third-value')
    expect(await vault.removeAgent('GITHUB')).toBe(true)
    expect(await vault.removeAgent('github')).toBe(false)
    const again = await openVault()
    expect(again.names()).toEqual({ system: ['github'], agent: [] })
    expect(again.system('github')?.reveal()).toBe('of-the-mesh')
  })

  test('a credential from the environment is neither replaced nor removed', async () => {
    const { vault } = await aHome('', { FLOTILLA_CRED_A: 'from-environment' })
    expect(vault.sourceOf('A')).toBe('environment')
    await expect(vault.storeAgent('a', 'other-value')).rejects.toMatchObject({ code: 'conflict' })
    await expect(vault.removeAgent('a')).rejects.toMatchObject({ code: 'conflict' })
    expect(vault.agentTier('a')?.reveal()).toBe('from-environment')
  })

  test('a stored credential with a line end is refused before anything is written', async () => {
    heedsLesson(32)
    const { vault, envFilePath } = await aHome('A=1\n')
    for (const value of ['a\nFLOTILLA_SYSTEM_X=1', 'a\rb', 'a\0b'])
      await expect(vault.storeAgent('x', value)).rejects.toMatchObject({ code: 'unprocessable' })
    expect(await readFile(envFilePath, 'utf8')).toBe('A=1\n')
    expect(vault.agentTier('x')).toBeUndefined()
  })

  test('a stored credential is old or new and nothing between when its writer is killed', async () => {
    heedsLesson(32)
    const values = ['a'.repeat(9000), 'b'.repeat(9000)]
    const { envFilePath, folder } = await aHome(`KEEP=1\nFLOTILLA_CRED_X='${values[0]}'\n`)
    const writer = `
      import { createFileEditor } from '${new URL('../../../foundation/src/config/atomic-file.ts', import.meta.url).href}'
      import { createVault } from '${new URL('./vault.ts', import.meta.url).href}'
      const vault = await createVault({ env: {}, envFilePath: process.argv[1], editor: createFileEditor() })
      process.stdout.write('go')
      for (let n = 0; ; n++) await vault.storeAgent('x', (n % 2 === 0 ? 'b' : 'a').repeat(9000))
    `
    for (let round = 0; round < 6; round++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', writer, envFilePath], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await new Promise((resolve) => child.stdout.once('data', resolve))
      await sleep(3 + round * 7)
      const ended = new Promise((resolve) => child.once('close', resolve))
      child.kill('SIGKILL')
      await ended
      const read = parseEnvText(await readFile(envFilePath, 'utf8'))
      expect(read.get('KEEP')).toBe('1')
      expect(values).toContain(read.get('FLOTILLA_CRED_X'))
      for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o077).toBe(0)
    }
  })
})

describe('the value of a credential', () => {
  test('the value of a credential is one line of 8 to 10000 characters, without the white space around it', () => {
    expect(readCredentialValue('  pasted value\r\n')).toBe('pasted value')
    expect(readCredentialValue('x'.repeat(10_000))).toHaveLength(10_000)
    const bad = [
      '',
      'short',
      '       7chars7   '.trim().slice(0, 7),
      'x'.repeat(10_001),
      'two\nlines here',
      'a\tb-and-more',
      'nul\0nul-nul',
    ]
    for (const value of bad) {
      expect(() => readCredentialValue(value)).toThrow(expect.objectContaining({ code: 'unprocessable' }))
    }
  })

  test('the value of a credential is never in the words of its refusal', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 3, unit: fc.constantFrom('§', '\n', 'q', 'z') }), (value) => {
        try {
          readCredentialValue(value)
        } catch (error) {
          expect(String(error)).not.toContain(value.trim().slice(0, 3) || '§§§')
        }
      }),
    )
  })
})
