import { describe, expect, it } from 'vitest'
import { presetModel } from './preset-model.ts'

const nothing = {
  environment: null,
  environmentFrom: '.env',
  settings: {},
  hasSystemCredential: () => false,
} as const

describe('the model of agents that name none', () => {
  it('the default model is reported with its source, and the owner setting precedes the keys', () => {
    expect(presetModel(nothing)).toBeNull()
    const held = { ...nothing, hasSystemCredential: (name: string) => name === 'openai_api_key' }
    expect(presetModel(held)).toEqual({
      name: 'openai/gpt-5-mini',
      from: 'the usual model of openai, because its key is set',
    })
    const settings = { default_model: 'groq/x' }
    expect(presetModel({ ...held, settings })).toEqual({
      name: 'groq/x',
      from: 'default_model in config/settings.json',
    })
    const set = { ...held, settings, environment: 'own/y' }
    expect(presetModel(set)).toEqual({ name: 'own/y', from: 'FLOTILLA_DEFAULT_MODEL in .env' })
    expect(presetModel({ ...set, environmentFrom: 'environment' })?.from).toBe(
      'FLOTILLA_DEFAULT_MODEL in the environment of the mesh',
    )
  })
})
