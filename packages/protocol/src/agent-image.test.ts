import { expect, test } from 'vitest'
import { ownImageSchema } from './agent-image.ts'

const digest = `@sha256:${'0f'.repeat(32)}`

test.each(['tools', 'registry.example/team/tools', 'registry.example:5000/tools', 'localhost/own:1.2'])(
  '%s with a digest names an image',
  (name) => {
    expect(ownImageSchema.safeParse(`${name}${digest}`).success).toBe(true)
  },
)

test.each([
  'tools:latest',
  'tools',
  digest,
  `tools${digest}0`,
  `tools@sha256:${'0F'.repeat(32)}`,
  `tools@sha512:${'00'.repeat(64)}`,
  `../tools${digest}`,
  `-tools${digest}`,
  `tools ${digest}`,
  `tools${digest}\n`,
  `https://registry.example/tools${digest}`,
])('%j names no image', (reference) => {
  expect(ownImageSchema.safeParse(reference).success).toBe(false)
})
