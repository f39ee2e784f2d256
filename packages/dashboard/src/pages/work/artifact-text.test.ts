import { describe, expect, it } from 'vitest'
import { artifactShownMaxBytes, artifactText } from './artifact-text.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('an artifact on a page', () => {
  it('an artifact on a page is the text that it is, markup and all', () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
    expect(artifactText(bytes(svg))).toEqual({ text: svg, cut: false })
  })

  it('an artifact on a page is nothing that could be read where it is no text', () => {
    expect(artifactText(new Uint8Array([0xff, 0xd8, 0xff, 0xe0]))).toEqual({ text: null, cut: false })
    expect(artifactText(bytes('a\0b'))).toEqual({ text: null, cut: false })
  })

  it('an artifact on a page is cut where it is long, and not within a character', () => {
    const { text, cut } = artifactText(bytes(`x${'ü'.repeat(artifactShownMaxBytes)}`))
    expect(cut).toBe(true)
    expect(text).toMatch(/^xü+$/)
    expect(bytes(text ?? '').length).toBe(artifactShownMaxBytes - 1)
  })
})
