/* Words of provenance, shared by its writer and its reader. */
#ifndef KILN_PACKAGER_PROVENANCE_INTERNAL_H
#define KILN_PACKAGER_PROVENANCE_INTERNAL_H

#define KILN_STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define KILN_PREDICATE_TYPE "https://slsa.dev/provenance/v1"
#define KILN_BUILD_TYPE "urn:kiln:build:1"
#define KILN_BUILDER_ID "urn:kiln:builder"
#define KILN_URI_MODEL "urn:kiln:model"
#define KILN_URI_DATA "urn:kiln:model-data"
#define KILN_URI_CONFIG "urn:kiln:configurations"
#define KILN_URI_RECORDS "urn:kiln:tuning-records"
#define KILN_URI_READY "urn:kiln:ready-records"
#define KILN_RECORDS_NAME "records that were used"
#define KILN_URI_COSTS "urn:kiln:compared-costs"
#define KILN_COSTS_NAME "costs that a search compared"

#endif
