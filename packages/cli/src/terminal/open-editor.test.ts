import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openEditor } from './open-editor.ts'

test('a text comes back as the editor left it, without the line break that editors end files with', async () => {
  const edited = await openEditor('printf "and more\\n" >>', { name: 'SOUL.md', text: 'Calm ' })
  expect(edited.text).toBe('Calm and more')
  expect(edited.path).toMatch(/SOUL\.md$/)
  await edited.taken()
  expect(existsSync(dirname(edited.path))).toBe(false)
})

test('an editor that fails changes nothing, and what it left is kept and named', async () => {
  const failed = openEditor('false', { name: 'role.txt', text: 'Reads.' })
  await expect(failed).rejects.toMatchObject({ code: 'editor-failed' })
  const told: unknown = await failed.catch((error: unknown) => error)
  const path = /text is in (\S+)\.$/.exec(told instanceof Error ? told.message : '')?.[1] ?? ''
  onTestFinished(() => rm(dirname(path), { recursive: true, force: true }))
  expect(existsSync(path)).toBe(true)
})
