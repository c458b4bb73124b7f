/* SPDX-License-Identifier: Apache-2.0 */
/* Exported calls whose prototypes <infiniband/marshall.h> had, which is not packaged any more. */
#ifndef SOFTNIC_VERBS_MARSHAL_H
#define SOFTNIC_VERBS_MARSHAL_H

struct ib_user_path_rec;
struct ib_uverbs_ah_attr;
struct ib_uverbs_qp_attr;
struct ibv_ah_attr;
struct ibv_qp_attr;
struct ibv_sa_path_rec;

#pragma GCC visibility push(default)
void softnic_ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, const struct ib_uverbs_ah_attr *from);
void softnic_ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, const struct ib_uverbs_qp_attr *from);
void softnic_ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, const struct ib_user_path_rec *from);
void softnic_ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, const struct ibv_sa_path_rec *from);
#pragma GCC visibility pop

#endif
