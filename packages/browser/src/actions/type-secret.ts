import type { BrowserActionParams } from '@flotilla/protocol/browser-service-api'
import type { ElementHandle } from 'playwright-core'
import type { PageElement } from '../tabs/page-element.ts'
import { ActionProblem } from './action-problem.ts'
import type { ActionScene } from './action.ts'
import { originOf } from '../tabs/copy-guard.ts'
import { secretMark } from './mask.ts'

type Secret = NonNullable<BrowserActionParams['type']['secret']>

/**
 * Types a secret into a field at an origin to which its owner bound it.
 *
 * The element belongs to one document, and a script on it fails once that document is gone. The origin is therefore
 * checked after the element was found, and a navigation in between cannot receive the secret. The page's own
 * statements are not used, because a page may change them.
 */
export async function typeSecret(
  { live }: ActionScene,
  element: ElementHandle<PageElement>,
  secret: Secret,
): Promise<void> {
  const frame = await element.ownerFrame()
  const origin = (): string | null => originOf(frame?.url() ?? '')
  const isBound = (): boolean => {
    const at = origin()
    return at !== null && secret.origins.includes(at)
  }
  if (!isBound())
    throw new ActionProblem(
      'secret-refused',
      `The field is at ${origin() ?? 'an address without a host'}, and this secret may be typed at ${secret.origins.join(', ')} only.`,
    )
  live.secrets.add(secret.value)
  const at = origin()
  if (at !== null) await live.copyGuard.guard(at)
  const isTyped = await element.evaluate(putIn, { value: secret.value, mark: secretMark })
  if (!isTyped)
    throw new ActionProblem('not-possible', 'A secret is typed into an input or a text area only.')
  if (isBound()) return
  await element.evaluate(putIn, { value: '', mark: secretMark }).catch(() => undefined)
  throw new ActionProblem(
    'secret-refused',
    'The page changed its address while the secret was typed, so the field was cleared.',
  )
}

/** Runs in the page. Types the value, masks the field, and excludes the field from Chromium's form data. */
function putIn(
  field: PageElement,
  { value, mark }: { readonly value: string; readonly mark: string },
): boolean {
  if (field.tagName !== 'INPUT' && field.tagName !== 'TEXTAREA') return false
  field.setAttribute(mark, '')
  field.setAttribute('autocomplete', 'off')
  field.style.setProperty('-webkit-text-security', 'disc', 'important')
  field.focus()
  // Uses the setter of the element's class: after a call of its own setter, a framework would ignore these events.
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set?.call(field, value)
  for (const event of ['input', 'change']) field.dispatchEvent(new Event(event, { bubbles: true }))
  return true
}
