import type { MeshClient } from '@flotilla/client/mesh-client'
import { expect, test } from 'vitest'
import { requireWebhook } from './require-webhook.ts'

const client = {
  call: async () => ({
    webhooks: [
      { id: 'hook_1', name: 'builds' },
      { id: 'hook_2', name: 'deploys' },
      { id: 'hook_3', name: 'deploys' },
      { id: 'hook_4', name: 'hook_1' },
    ],
  }),
} as unknown as MeshClient

const idOf = (given: string) =>
  requireWebhook({ signal: new AbortController().signal }, client, { operands: [given], options: {} })

test.each([
  ['builds', 'hook_1'],
  ['hook_1', 'hook_1'],
  ['hook_2', 'hook_2'],
])('the webhook %s is %s', async (given, id) => {
  expect(await idOf(given)).toBe(id)
})

test.each([
  ['bilds', 'there is no webhook bilds; did you mean builds?'],
  ['deploys', '2 webhooks are called deploys; name one by its id: hook_2, hook_3'],
])('the webhook %s is rejected with what to type', async (given, detail) => {
  await expect(idOf(given)).rejects.toMatchObject({ message: detail, exitCode: 2 })
})
