// Measures web vitals when it is imported: server/tracker/src/onefold.vitals.js, which the build copies.
export {}
