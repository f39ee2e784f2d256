import { Suspense, lazy } from 'react'

const MarkdownText = lazy(async () => ({ default: (await import('./markdown-text.tsx')).MarkdownText }))

/** Text of an agent. Until the parser is there, it stands as it was written. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <Suspense fallback={<div className="prose plain-text">{text}</div>}>
      <MarkdownText text={text} />
    </Suspense>
  )
}
