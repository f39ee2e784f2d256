import type { WebhookView } from '@flotilla/protocol/webhook-api'
import { CopyButton } from '../../design/copy-button.tsx'
import { Code } from '../../design/parts.tsx'
import { signedExample } from '@flotilla/protocol/signed-event'

/** A command line that sends a signed event, to copy. The secret is in it only while the page shows the secret. */
export function SignedExample({
  hook: { name, path },
  secret,
}: {
  readonly hook: Pick<WebhookView, 'name' | 'path'>
  readonly secret: string | null
}) {
  const text = signedExample(window.location.origin + path, secret)
  return (
    <div className="code-block">
      <Code value={text} label={`A signed event for ${name}`} />
      <CopyButton text={text} what="the example" className="button small copy" />
    </div>
  )
}
