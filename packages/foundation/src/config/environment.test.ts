import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { readEnvironment } from './environment.ts'

describe('the environment', () => {
  test('an empty environment gives the defaults', () => {
    expect(readEnvironment({ PATH: '/bin', FLOTILLA_PORT: '' }, '/home/a')).toMatchObject({
      home: '/home/a/.flotilla',
      port: 8420,
      agentPort: 8420,
      logLevel: 'info',
      noInstall: false,
      runtime: null,
      maxIterations: 20,
      warnings: [],
    })
  })

  test('the environment is parsed, and bounds bring its numbers into their range', () => {
    verifies('limits:task-iterations:clamp')
    const environment = readEnvironment({
      FLOTILLA_PORT: '9000',
      FLOTILLA_NO_INSTALL: '1',
      FLOTILLA_RUNTIME: 'process',
      FLOTILLA_MAX_ITERATIONS: '1000',
    })
    expect(environment).toMatchObject({ port: 9000, noInstall: true, runtime: 'process', maxIterations: 100 })
    expect(readEnvironment({ FLOTILLA_MAX_ITERATIONS: '0' }).maxIterations).toBe(1)
  })

  test('the environment is what .env of the home says, where the process says nothing of its own', () => {
    const file = new Map([
      ['FLOTILLA_DEFAULT_MODEL', 'openai/gpt-5-mini'],
      ['FLOTILLA_PORT', '9000'],
      ['FLOTILLA_RUNTIME', ''],
      ['FLOTILLA_SYSTEM_OPENAI_API_KEY', 'sk-1'],
      ['OTHER', 'x'],
    ])
    expect(readEnvironment({ FLOTILLA_PORT: '', PATH: '/bin' }, '/home/a', file)).toMatchObject({
      port: 9000,
      runtime: null,
      defaultModel: 'openai/gpt-5-mini',
      defaultModelFrom: '.env',
      warnings: [],
    })
    const own = { FLOTILLA_PORT: '9001', FLOTILLA_DEFAULT_MODEL: 'groq/x' }
    expect(readEnvironment(own, '/home/a', file)).toMatchObject({
      port: 9001,
      defaultModel: 'groq/x',
      defaultModelFrom: 'environment',
    })
  })

  test('the environment of a pod sets its addresses, even if a configuration file names others', () => {
    const file = new Map([
      ['FLOTILLA_PORT', '9000'],
      ['FLOTILLA_AGENT_PORT', 'nine'],
      ['FLOTILLA_RUNTIME', 'docker'],
      ['FLOTILLA_KUBERNETES_CONTEXT', 'prod'],
      ['FLOTILLA_KUBERNETES_STORAGE_CLASS', ''],
      ['FLOTILLA_DEFAULT_MODEL', 'groq/x'],
    ])
    const pod = { FLOTILLA_KUBERNETES_SERVICE: '10.96.0.5', FLOTILLA_RUNTIME: 'kubernetes' }
    const environment = readEnvironment(pod, '/home/a', file)
    expect(environment).toMatchObject({
      port: 8420,
      agentPort: 8420,
      runtime: 'kubernetes',
      kubernetes: { context: null, service: '10.96.0.5' },
      defaultModel: 'groq/x',
    })
    expect(environment.warnings).toEqual(
      ['FLOTILLA_PORT', 'FLOTILLA_AGENT_PORT', 'FLOTILLA_RUNTIME', 'FLOTILLA_KUBERNETES_CONTEXT'].map(
        (name) => `${name} in .env has no effect in a pod: set it in the manifest of the pod`,
      ),
    )
    const machine = new Map([...file, ['FLOTILLA_AGENT_PORT', '9001'], ...Object.entries(pod)])
    expect(readEnvironment({}, '/home/a', machine)).toMatchObject({
      port: 9000,
      kubernetes: { context: 'prod' },
    })
  })

  test('an invalid, unknown or ineffective variable of a file is reported with the file', () => {
    const port = new Map([['FLOTILLA_PORT', 'sk-oops']])
    expect(() => readEnvironment({}, '/home/a', port)).toThrow(/FLOTILLA_PORT in \.env: (?!.*sk-oops)/)
    const file = new Map([
      ['FLOTILLA_HOME', '/elsewhere'],
      ['FLOTILLA_PROT', '1'],
    ])
    expect(readEnvironment({}, '/home/a', file)).toMatchObject({
      home: '/home/a/.flotilla',
      warnings: [
        'FLOTILLA_PROT in .env is not a known setting; did you mean FLOTILLA_PORT?',
        'FLOTILLA_HOME in .env has no effect, because the file .env is inside the home',
      ],
    })
  })

  test('a variable of a file that only the command line reads is reported', () => {
    const file = new Map([
      ['FLOTILLA_URL', 'http://elsewhere'],
      ['FLOTILLA_SESSION', 'sk-oops'],
      ['FLOTILLA_REQUIRE_ENGINE', '1'],
      ['FLOTILLA_NO_INSTALL', '1'],
    ])
    const environment = readEnvironment({}, '/home/a', file)
    expect(environment.noInstall).toBe(true)
    expect(environment.warnings).toEqual([
      'FLOTILLA_URL in .env has no effect here: only the command line reads it, from its own environment',
      'FLOTILLA_SESSION in .env has no effect here: only the command line reads it, from its own environment',
      'FLOTILLA_REQUIRE_ENGINE in .env has no effect here: only the command line reads it, from its own environment',
      'FLOTILLA_NO_INSTALL in .env applies to the mesh only: the command line reads it from its own environment',
    ])
  })

  test('an error names the variable and never shows its value', () => {
    const wrong = { FLOTILLA_PORT: 'sk-oops', FLOTILLA_RUNTIME: 'vm' }
    expect(() => readEnvironment(wrong)).toThrow(/FLOTILLA_PORT: .*FLOTILLA_RUNTIME: /)
    expect(() => readEnvironment(wrong)).not.toThrow(/sk-oops/)
  })

  test('the environment takes the address that other machines reach as ADDRESS:PORT', () => {
    expect(readEnvironment({}).publicBind).toBeNull()
    expect(readEnvironment({ FLOTILLA_PUBLIC_BIND: '0.0.0.0:8443' }).publicBind).toEqual({
      host: '0.0.0.0',
      port: 8443,
    })
    expect(readEnvironment({ FLOTILLA_PUBLIC_BIND: '[::]:1' }).publicBind).toEqual({ host: '::', port: 1 })
    for (const wrong of ['8443', 'example.com:1', '1.2.3.4', '0.0.0.0:70000']) {
      expect(() => readEnvironment({ FLOTILLA_PUBLIC_BIND: wrong })).toThrow(/FLOTILLA_PUBLIC_BIND/)
    }
  })

  test('the environment warns of unknown names with the nearest known one, and not of credentials', () => {
    const record = {
      FLOTILLA_PROT: '1',
      FLOTILLA_WHATEVER_ELSE: '1',
      FLOTILLA_CRED_X: 'a',
      FLOTILLA_SYSTEM_Y: 'b',
    }
    expect(readEnvironment(record).warnings).toEqual([
      'FLOTILLA_PROT is not a known setting; did you mean FLOTILLA_PORT?',
      'FLOTILLA_WHATEVER_ELSE is not a known setting',
    ])
  })
})
