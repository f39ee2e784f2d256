import { Suspense, lazy } from 'react'

const MarkdownText = lazy(async () => ({ default: (await loadMarkdown()).MarkdownText }))

/** Loads the parser before any text arrives, so that no text is rendered twice. */
export function loadMarkdown(): Promise<typeof import('./markdown-text.tsx')> {
  return import('./markdown-text.tsx')
}

/** Text of an agent. Until the parser is loaded, the source text is shown. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <Suspense fallback={<div className="prose plain-text">{text}</div>}>
      <MarkdownText text={text} />
    </Suspense>
  )
}
