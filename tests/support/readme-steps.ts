/** One step of a reader of a page, in the order of the page. */
export type ReadmeStep =
  | { readonly kind: 'command'; readonly line: string }
  /** A script of the repository, such as `npm test`. */
  | { readonly kind: 'script'; readonly name: string }
  | { readonly kind: 'env'; readonly text: string }
  | { readonly kind: 'settings'; readonly text: string }
  /** A block in another language, such as the configuration of a reverse proxy. */
  | { readonly kind: 'block'; readonly language: string; readonly text: string }
  /** A variable that the prose names, alone or with a value. */
  | { readonly kind: 'variable'; readonly name: string; readonly value: string | null }

/** Returns the steps in code blocks and in backticks of the prose. Throws for a block line that cannot be parsed. */
export function readmeSteps(markdown: string): readonly ReadmeStep[] {
  return markdown.split(/^(```[^\n]*\n[\s\S]*?^```$)/m).flatMap((part) => {
    const block = /^```([^\n]*)\n([\s\S]*?)^```$/m.exec(part)
    return block ? stepsOfBlock(block[1] ?? '', block[2] ?? '') : stepsOfProse(part)
  })
}

function stepsOfBlock(language: string, text: string): readonly ReadmeStep[] {
  if (language === 'json') return [{ kind: 'settings', text }]
  // The architecture diagram has no language.
  if (language === '') return []
  if (language !== 'sh') return [{ kind: 'block', language, text }]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.every((line) => /^[A-Z][A-Z0-9_]*=/.test(line))) return [{ kind: 'env', text }]
  return lines.map((line) => {
    const step = stepOfLine(line.replace(/\s+#.*$/, '').trim())
    if (step === null) throw new Error(`a page has a line that nobody tries: ${line}`)
    return step
  })
}

function stepsOfProse(text: string): readonly ReadmeStep[] {
  return [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']): readonly ReadmeStep[] => {
    if (code.startsWith('{')) return [{ kind: 'settings', text: code }]
    const variable = /^(FLOTILLA_[A-Z0-9_]+)(?:=(.+))?$/.exec(code)
    if (variable) return [{ kind: 'variable', name: variable[1] ?? '', value: variable[2] ?? null }]
    const step = stepOfLine(code)
    return step === null ? [] : [step]
  })
}

function stepOfLine(line: string): ReadmeStep | null {
  const script = /^npm (?:run )?([a-z:]+)(?: .*)?$/.exec(line)
  if (script) return { kind: 'script', name: script[1] ?? '' }
  return /^(?:npx )?flotilla\s/.test(line) ? { kind: 'command', line } : null
}
