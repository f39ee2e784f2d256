import { useState } from 'react'

/** Copies a text; absent where the browser offers no clipboard, such as a page from another machine without TLS. */
export function CopyButton({
  text,
  what = '',
  label = 'Copy',
  className = 'button small',
}: {
  readonly text: string | (() => string)
  /** What is copied, for screen readers. */
  readonly what?: string
  readonly label?: string
  readonly className?: string
}) {
  const [copied, setCopied] = useState(false)
  if (!window.isSecureContext) return null
  const copy = () => navigator.clipboard.writeText(typeof text === 'string' ? text : text())
  return (
    <button type="button" className={className} onClick={() => void copy().then(() => setCopied(true))}>
      {copied ? 'Copied' : label}
      {what !== '' && <span className="hidden-words"> {what}</span>}
    </button>
  )
}
