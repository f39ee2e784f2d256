import { describe, expect, it } from 'vitest'
import { chooseRuntime, runtimeName } from './choose-runtime.ts'
import { createFakeEngine, createFakeRuntime } from './fake-runtime.ts'

const never = () => expect.fail('not asked for')

describe('runtimeName', () => {
  it('containers are the choice when nothing is asked for', () => {
    expect(runtimeName(undefined)).toBe('docker')
    expect(runtimeName('')).toBe('docker')
  })

  it('an unknown name is refused with the names there are', () => {
    expect(() => runtimeName('jail')).toThrow(/docker, process, fake/)
  })
})

describe('chooseRuntime', () => {
  it('makes the named runtime and no other', () => {
    const fake = createFakeRuntime({ engine: createFakeEngine() })
    expect(chooseRuntime('fake', { docker: never, process: never, fake: () => fake })).toBe(fake)
  })
})
