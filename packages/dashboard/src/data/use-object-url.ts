import { useEffect, useState } from 'react'

/** Returns an object URL for these bytes, and revokes it when the component unmounts. */
export function useObjectUrl(bytes: Uint8Array, type: string): string | null {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([new Uint8Array(bytes)], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes, type])
  return url
}
