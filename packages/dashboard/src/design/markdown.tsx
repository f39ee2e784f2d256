import { Suspense, lazy } from 'react'

const MarkdownText = lazy(async () => ({ default: (await loadMarkdown()).MarkdownText }))

/** Asked for before there is any text, so that none is drawn twice. */
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
