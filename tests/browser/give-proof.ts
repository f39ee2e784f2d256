import { peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import type { Page } from 'playwright-core'
import type { MeshProcess } from '../support/mesh-process.ts'

/** Enters the code that `flotilla proof` would print. */
export async function giveProof(mesh: MeshProcess, page: Page): Promise<void> {
  const field = page.getByRole('textbox', { name: 'Code of flotilla proof' })
  await field.waitFor()
  const { code } = (await mesh.call(peopleAdminEndpoints.proofCode)).json()
  await field.fill(String(code))
  await page.getByRole('button', { name: 'Continue' }).click()
}
