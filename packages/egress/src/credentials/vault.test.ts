import { chmod, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { credentialNameOf } from './credential-tiers.ts'
import { parseEnvText, setEnvValues } from './env-file.ts'
import { createVault } from './vault.ts'

async function anEnvFile(text: string | null, mode = 0o600): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'vault-')), '.env')
  if (text !== null) {
    await writeFile(path, text)
    await chmod(path, mode)
  }
  return path
}

async function aVault(
  text: string | null,
  env: Readonly<Record<string, string | undefined>> = {},
  mode?: number,
) {
  const envFilePath = await anEnvFile(text, mode)
  return { envFilePath, vault: await createVault({ env, envFilePath, editor: createFileEditor() }) }
}

describe('the vault', () => {
  test('the vault loads both prefixes from file and environment, and the environment wins', async () => {
    verifies(
      'authentication:credentials:both-prefixes-loaded',
      'authentication:zone-2:credentials',
      'purpose:mesh:holds-credentials',
      'resources:credential:system-prefix',
      'resources:credential:agent-prefix',
    )
    const { vault } = await aVault(
      'FLOTILLA_SYSTEM_OPENAI_API_KEY=from-file\nFLOTILLA_CRED_GITHUB=gh\nOTHER=x\n',
      {
        FLOTILLA_SYSTEM_OPENAI_API_KEY: 'from-environment',
        FLOTILLA_CRED_EMPTY: '',
        PATH: '/bin',
      },
    )
    expect(vault.system('openai_api_key')?.reveal()).toBe('from-environment')
    expect(vault.agentTier('GitHub')?.reveal()).toBe('gh')
    expect(vault.names()).toEqual({ system: ['openai_api_key'], agent: ['github'] })
  })

  test('the vault does not contain the four names of the CAPTCHA solver, wherever they are set', async () => {
    verifies('resources:credential:captcha-bypass')
    const names = [
      'CAPTCHA_SOLVER_KEY',
      'CAPTCHA_SOLVER_KEY_SECONDARY',
      'CAPTCHA_SOLVER_PROXY_LOGIN',
      'CAPTCHA_SOLVER_PROXY_PASSWORD',
    ]
    const spelt = names.flatMap((name) => [name, `FLOTILLA_CRED_${name}`, `FLOTILLA_SYSTEM_${name}`])
    const text = spelt.map((name) => `${name}=in-file\n`).join('')
    const env = Object.fromEntries(spelt.map((name) => [name, 'in-environment']))
    const { vault } = await aVault(`${text}FLOTILLA_CRED_OTHER=other\n`, env)
    expect(vault.names()).toEqual({ system: [], agent: ['other'] })
    for (const name of names) {
      for (const spelling of [name, name.toLowerCase(), name.replace('CAPTCHA_', '')]) {
        expect([vault.system(spelling), vault.agentTier(spelling)], spelling).toEqual([undefined, undefined])
      }
    }
  })

  test('the vault never gives a system credential to agents, nor the other way round', async () => {
    verifies('authentication:credentials:system-never', 'resources:credential:system-mesh-only')
    const { vault } = await aVault('FLOTILLA_SYSTEM_A=1\nFLOTILLA_CRED_B=2\n')
    for (const name of ['a', 'A', 'FLOTILLA_SYSTEM_A', 'system_a', '../a'])
      expect(vault.agentTier(name)).toBeUndefined()
    expect(vault.system('b')).toBeUndefined()
  })

  test('the vault prints none of its values', async () => {
    const { vault } = await aVault('FLOTILLA_SYSTEM_A=hidden-value\nFLOTILLA_CRED_B=hidden-value\n')
    expect(inspect(vault, { depth: 9 }) + JSON.stringify([vault, vault.system('a')])).not.toContain(
      'hidden-value',
    )
  })

  test('the vault takes the rights of others away from its file', async () => {
    verifies('purpose:env-file:mode-600')
    const { envFilePath } = await aVault('FLOTILLA_SYSTEM_A=1\n', {}, 0o644)
    expect((await stat(envFilePath)).mode & 0o777).toBe(0o600)
  })

  test('the vault keeps a system credential that the mesh made over a restart', async () => {
    verifies('purpose:env-file:mode-600')
    const { vault, envFilePath } = await aVault(null)
    await vault.storeSystem('webhook_a_1', 'made-once')
    expect((await stat(envFilePath)).mode & 0o777).toBe(0o600)
    const again = await createVault({ env: {}, envFilePath, editor: createFileEditor() })
    expect(again.system('webhook_a_1')?.reveal()).toBe('made-once')
  })

  test.each([
    ['with line ends of Windows', '# mine\r\nFLOTILLA_SYSTEM_KEY=old-one\r\nFLOTILLA_CRED_KEY=old-two\r\n'],
    ['in another spelling', '# mine\nFLOTILLA_SYSTEM_Key=old-one\nFLOTILLA_CRED_Key=old-two\n'],
  ])('the vault leaves nothing of what was replaced or removed in a file %s', async (_how, text) => {
    const { vault, envFilePath } = await aVault(text)
    await vault.storeSystem('key', 'new-one-1')
    await vault.storeAgent('key', 'new-two-2')
    expect(await readFile(envFilePath, 'utf8')).not.toContain('old-')
    const again = await createVault({ env: {}, envFilePath, editor: createFileEditor() })
    expect(again.system('key')?.reveal()).toBe('new-one-1')
    expect(again.agentTier('key')?.reveal()).toBe('new-two-2')
  })

  test.each([
    ['with line ends of Windows', '# mine\r\nFLOTILLA_SYSTEM_KEY=old-one\r\nFLOTILLA_CRED_KEY=old-two\r\n'],
    ['in another spelling', '# mine\nFLOTILLA_SYSTEM_Key=old-one\nFLOTILLA_CRED_Key=old-two\n'],
  ])('the vault does not find what was removed again after a restart, in a file %s', async (_how, text) => {
    const { vault, envFilePath } = await aVault(text)
    await vault.removeSystem('key')
    await vault.removeAgent('key')
    const again = await createVault({ env: {}, envFilePath, editor: createFileEditor() })
    expect(again.names()).toEqual({ system: [], agent: [] })
    expect(await readFile(envFilePath, 'utf8')).toMatch(/^# mine\r?\n$/)
  })

  test('the vault changes system credentials that belong together at once, in one write', async () => {
    const envFilePath = await anEnvFile("FLOTILLA_SYSTEM_A_BASE_URL='http://old.example'\nMINE=1\n")
    const real = createFileEditor()
    const whileWriting: unknown[] = []
    const seen = () => [vault.system('a_api_key')?.reveal(), vault.system('a_base_url')?.reveal()]
    const vault = await createVault({
      env: {},
      envFilePath,
      editor: {
        edit: async (...edit) => {
          whileWriting.push(seen())
          await real.edit(...edit)
          whileWriting.push(seen())
        },
      },
    })
    await vault.changeSystem(() => ({ a_api_key: 'new-key', a_base_url: null }))
    const old = [undefined, 'http://old.example']
    expect(whileWriting).toEqual([old, old])
    expect(seen()).toEqual(['new-key', undefined])
    expect(await readFile(envFilePath, 'utf8')).toBe("MINE=1\nFLOTILLA_SYSTEM_A_API_KEY='new-key'\n")
  })

  test('the vault keeps its values if a change is refused or cannot be written', async () => {
    const envFilePath = await anEnvFile('FLOTILLA_SYSTEM_A=old\n')
    const real = createFileEditor()
    let isFull = true
    const edit: typeof real.edit = (...what) =>
      isFull ? Promise.reject(new Error('the disk is full')) : real.edit(...what)
    const vault = await createVault({ env: {}, envFilePath, editor: { edit } })
    await expect(vault.changeSystem(() => ({ a: 'new', b: 'new' }))).rejects.toThrow('the disk is full')
    isFull = false
    const refused = vault.changeSystem(() => {
      throw new Error('not allowed')
    })
    await expect(refused).rejects.toThrow('not allowed')
    await expect(vault.changeSystem(() => ({ a: 'new', b: 'two\nlines' }))).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect([vault.system('a')?.reveal(), vault.system('b')]).toEqual(['old', undefined])
    expect(await readFile(envFilePath, 'utf8')).toBe('FLOTILLA_SYSTEM_A=old\n')
  })

  test('the vault decides a change when those before it hold', async () => {
    const { vault } = await aVault(null)
    const seen: (string | undefined)[] = []
    await Promise.all([
      vault.storeSystem('a', 'first'),
      vault.changeSystem(() => {
        seen.push(vault.system('a')?.reveal())
        return {}
      }),
    ])
    expect(seen).toEqual(['first'])
  })

  test('the vault does not contain the secret of the mesh, wherever it is set', async () => {
    const { vault } = await aVault('FLOTILLA_SYSTEM_MESH_SECRET=one\n', {
      FLOTILLA_SYSTEM_mesh_secret: 'two',
    })
    expect(vault.system('mesh_secret')).toBeUndefined()
    expect(vault.names().system).toEqual([])
  })

  test('the vault refuses a broken file with its line and never shows a value', async () => {
    const text = 'FLOTILLA_SYSTEM_A=fine\nFLOTILLA_SYSTEM_B="hidden\n'
    await expect(aVault(text)).rejects.toMatchObject({ code: 'unprocessable', extra: { line: 2 } })
    await expect(aVault(text)).rejects.not.toThrow(/hidden/)
  })
})

describe('an env file', () => {
  test.each([
    ['A=1', '1'],
    ['A = 1 ', '1'],
    ['export A=1', '1'],
    ['A=', ''],
    ['A=a b # comment', 'a b'],
    ['A=a#b', 'a#b'],
    ["A='a # b' # comment", 'a # b'],
    ['A="say \\"hi\\" \\\\ now"', 'say "hi" \\ now'],
    ['A=$HOME/${X}', '$HOME/${X}'],
    ['A=1\r', '1'],
  ])('an env file reads %j', (line, value) => {
    expect(parseEnvText(`# first\n\n${line}\n`).get('A')).toBe(value)
  })

  test.each(['A', '=1', '1A=2', 'A="x', "A='x", 'A=x"y', 'A-B=1', 'A=1\rB=2'])(
    'an env file refuses %j',
    (line) => {
      expect(() => parseEnvText(line)).toThrow('.env line 1')
    },
  )

  test('an env file gives back every value that was written, and keeps the other lines', async () => {
    const path = await anEnvFile('# mine\nB=2\n')
    const editor = createFileEditor()
    const oneLine = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !/[\r\n\0]/.test(text))
    await fc.assert(
      fc.asyncProperty(oneLine, async (value) => {
        await setEnvValues(editor, path, { values: { A: value } })
        expect(parseEnvText(await readFile(path, 'utf8')).get('A')).toBe(value)
      }),
      { numRuns: 40 },
    )
    expect(await readFile(path, 'utf8')).toMatch(/^# mine\nB=2\nA=[^\n]*\n$/)
  })

  test.each(['a\nFLOTILLA_SYSTEM_X=1', 'a\rb', 'a\0b'])(
    'an env file never holds a value with a line end: %j',
    async (value) => {
      const path = await anEnvFile(null)
      await expect(setEnvValues(createFileEditor(), path, { values: { A: value } })).rejects.toMatchObject({
        code: 'unprocessable',
      })
    },
  )
})

describe('the tier of a credential', () => {
  test.each([
    ['FLOTILLA_SYSTEM_KEY', { tier: 'system', name: 'key' }],
    ['FLOTILLA_CRED_System_Key', { tier: 'agent', name: 'system_key' }],
    ['FLOTILLA_SYSTEM_', null],
    ['flotilla_system_key', null],
    ['XFLOTILLA_CRED_A', null],
    ['FLOTILLA_CRED_A-B', null],
  ])('%s gives %j', (variable, expected) => {
    expect(credentialNameOf(variable)).toEqual(expected)
  })
})
