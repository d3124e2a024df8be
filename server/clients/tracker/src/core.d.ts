// The tracker, server/tracker/src/core.js, which the build copies.

/** Starts the tracker, with settings named as in the dataset of the script's tag. */
export function start(settings: Record<string, string | undefined>, api: string, load: (script: string) => void): void
