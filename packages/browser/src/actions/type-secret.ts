import type { BrowserActionParams } from '@flotilla/protocol/browser-service-api'
import type { ElementHandle } from 'playwright-core'
import type { PageElement } from '../tabs/page-element.ts'
import { ActionProblem } from './action-problem.ts'
import type { ActionScene } from './action.ts'
import { hostOf } from './find-captcha.ts'
import { secretMark } from './mask.ts'

type Secret = NonNullable<BrowserActionParams['type']['secret']>

/**
 * Puts a secret into a field of a host that its owner bound it to.
 *
 * The element belongs to one document, and what is run on it is lost where that document went: so the host is asked after
 * the element was found, and a navigation in between takes the secret nowhere. The page's own words are not asked, since
 * a page may change what they say.
 */
export async function typeSecret(
  { live }: ActionScene,
  element: ElementHandle<PageElement>,
  secret: Secret,
): Promise<void> {
  const frame = await element.ownerFrame()
  const isBound = (): boolean => {
    const host = hostOf(frame?.url() ?? '')
    return host !== '' && secret.hosts.some((bound) => bound.toLowerCase() === host)
  }
  if (!isBound())
    throw new ActionProblem(
      'secret-refused',
      `The field is on ${hostOf(frame?.url() ?? '') || 'no host'}, and this secret may be typed on ${secret.hosts.join(', ')} only.`,
    )
  live.secrets.add(secret.value)
  const isTyped = await element.evaluate(putIn, { value: secret.value, mark: secretMark })
  if (!isTyped)
    throw new ActionProblem('not-possible', 'A secret is typed into an input or a text area only.')
  if (isBound()) return
  await element.evaluate(putIn, { value: '', mark: secretMark }).catch(() => undefined)
  throw new ActionProblem(
    'secret-refused',
    'The page went to another host meanwhile, and the field was emptied.',
  )
}

/** Runs in the page. Hidden from who watches, and left out of what Chromium keeps of a form. */
function putIn(
  field: PageElement,
  { value, mark }: { readonly value: string; readonly mark: string },
): boolean {
  if (field.tagName !== 'INPUT' && field.tagName !== 'TEXTAREA') return false
  field.setAttribute(mark, '')
  field.setAttribute('autocomplete', 'off')
  field.style.setProperty('-webkit-text-security', 'disc', 'important')
  field.focus()
  // The setter of the element's kind and not of the page's own library, which would not see the change.
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set?.call(field, value)
  for (const event of ['input', 'change']) field.dispatchEvent(new Event(event, { bubbles: true }))
  return true
}
